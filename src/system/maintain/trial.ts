// A version on trial: only the service runs it; maintenance and everything else keep the proven one. The drop-in is in
// /run, so that a box that loses power comes back with the proven version.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../../kernel/dirs.ts'
import { replaceFile } from '../host/files.ts'
import { UNITS } from '../host/places.ts'
import { systemctl } from '../setup/system.ts'

const DROP_IN = `/run/systemd/system/${UNITS.agent}.d/trial.conf`

/** From its next start on the service runs `program`. */
export async function beginTrial(program: string): Promise<void> {
  makeDir(path.dirname(DROP_IN), 0o755)
  replaceFile(DROP_IN, `[Service]\nExecStart=\nExecStart=${program} agent\n`, 0o644)
  await systemctl('daemon-reload')
}

/** From its next start on the service runs the program in use again. Also ends an interrupted trial. */
export async function endTrial(): Promise<void> {
  if (!fs.existsSync(DROP_IN)) return
  fs.rmSync(DROP_IN)
  await systemctl('daemon-reload')
}
