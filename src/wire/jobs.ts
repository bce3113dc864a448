import * as z from 'zod'

/** Jobs by id, for bulk calls and exports; repetitions count once. */
export const JobIds = z.strictObject({ jobIds: z.array(z.string().trim().min(1).max(160)).min(1).max(200) })
export type JobIds = z.infer<typeof JobIds>
