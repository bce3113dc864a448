import { spawn } from 'node:child_process'
import * as fs from 'node:fs/promises'
import * as os from 'node:os'
import { syncFile } from '../spool/durable.ts'

export interface RenderRequest {
  codecArgs: string[]
  command: string
  env: NodeJS.ProcessEnv
  filter: string | undefined
  input: string
  output: string
  /** Seconds the output must have. */
  seconds: number
}

/** MP3 pads to whole frames, FLAC counts its last block by its start. */
const TOLERANCE_SECONDS = 0.25
const STDERR_KEPT = 2000

/**
 * Encodes a take with ffmpeg; the output appears under its name only when it is whole and on the disk.
 * Throws with ffmpeg's own words, and when the result is empty or of another length. An abort kills ffmpeg.
 */
export async function render(request: RenderRequest, signal: AbortSignal): Promise<void> {
  const temp = `${request.output}.part`
  const filter = request.filter === undefined ? [] : ['-af', request.filter]
  const plain = ['-map', '0:a', '-map_metadata', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact']
  const args = [
    ...['-nostdin', '-v', 'error', '-y', '-progress', 'pipe:1', '-i', `file:${request.input}`, ...filter, ...plain],
    ...[...request.codecArgs, `file:${temp}`],
  ]
  try {
    // An encoder left over from a killed agent may still write to the old file: it keeps that one for itself.
    await fs.rm(temp, { force: true })
    const seconds = await run(request, args, signal)
    const { size } = await fs.stat(temp)
    if (size === 0) throw new Error('render output is empty')
    if (Math.abs(seconds - request.seconds) > TOLERANCE_SECONDS)
      throw new Error(`render output has ${seconds} s instead of ${request.seconds} s`)
    await fs.rename(temp, request.output)
    await syncFile(request.output)
  } catch (e) {
    await fs.rm(temp, { force: true })
    throw e
  }
}

/** Resolves with the seconds of audio ffmpeg says it wrote. */
function run({ command, env }: RenderRequest, args: string[], signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, killSignal: 'SIGKILL', signal, stdio: ['ignore', 'pipe', 'pipe'] })
    // A capture may be running: it goes first.
    if (child.pid !== undefined) lowerPriority(child.pid)
    let said = ''
    let seconds = 0
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      for (const [, us] of more.matchAll(/out_time_us=(\d+)/g)) seconds = Number(us) / 1e6
    })
    child.stderr.setEncoding('utf8').on('data', (more: string) => {
      said = (said + more).slice(-STDERR_KEPT)
    })
    child.once('error', reject)
    child.once('close', (code, killed) => {
      if (code === 0) resolve(seconds)
      else reject(new Error(`${command} failed with ${code ?? killed}: ${said.trim()}`))
    })
  })
}

function lowerPriority(pid: number): void {
  try {
    os.setPriority(pid, os.constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Gone already, or not allowed: only a courtesy.
  }
}
