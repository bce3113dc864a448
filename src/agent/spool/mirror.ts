import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { iso, systemClock } from '../../kernel/clock.ts'
import type { TakeState } from './state.ts'

/** The state of a job; `completed`: its files are released, too. */
export type Mirrored = Readonly<Omit<TakeState, 'status'> & { status: TakeState['status'] | 'completed' }>

/** Where a job is, in the words of the state file. */
const STATUS: Record<Mirrored['status'], string> = {
  cancelled: 'cancelled',
  captured: 'captured',
  capturing: 'running',
  claimed: 'running',
  completed: 'completed',
  failed: 'failed',
  uploaded: 'uploaded',
  uploading: 'upload_pending',
}

/**
 * Writes the state of the job that changed last to one file for people and scripts; each job has its own state file, which
 * is what counts. `dir`: where the job's files are. Never rejects, because nothing depends on it.
 */
export async function mirrorState(file: string, state: Mirrored, dir: string): Promise<void> {
  const { id: jobId, nodeId, recordingId } = state.job
  const rawOutputPath = path.join(dir, 'take.wav')
  const [output] = state.outputs
  const shown = {
    jobId,
    nodeId,
    outputPath: output ? path.join(dir, output.file) : rawOutputPath,
    rawOutputPath,
    reason: state.reason,
    recordingId,
    status: STATUS[state.status],
    updatedAt: iso(systemClock.now()),
  }
  try {
    await fs.writeFile(`${file}.new`, `${JSON.stringify(shown, null, 2)}\n`, { mode: 0o640 })
    await fs.rename(`${file}.new`, file)
  } catch {
    // A full or read-only disk is reported by the writer of the job's own state.
  }
}
