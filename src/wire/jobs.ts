import * as z from 'zod'
import { text } from './scalars.ts'

/** Jobs by id, for bulk calls and exports; repetitions count once. */
export const JobIds = z.strictObject({ jobIds: z.array(text(1, 160)).min(1).max(200) })
export type JobIds = z.infer<typeof JobIds>
