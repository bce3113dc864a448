// What became of the last stick, for whoever looks at the box: no secrets, readable by everybody.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { replaceFile } from '../host/files.ts'

export interface Outcome {
  nodeId?: string
  /**
   * done: the box has joined; unchanged: it had joined with this stick before; refused: it will not, whoever tries again;
   * failed: it may work another time.
   */
  result: 'done' | 'unchanged' | 'refused' | 'failed'
  /** One sentence or more. */
  words: string
}

/** Mode 0644, its directory open to look into. */
export function writeStatus(file: string, at: string, outcome: Outcome): void {
  const dir = path.dirname(file)
  if (!fs.existsSync(dir)) {
    fs.mkdirSync(dir, { recursive: true })
    fs.chmodSync(dir, 0o755)
  }
  replaceFile(file, `${JSON.stringify({ at, ...outcome }, null, 2)}\n`, 0o644)
}
