// The built executable, for tests that drive it as a user would.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'

export const ROOT = path.resolve(import.meta.dirname, '..', '..')
const BUILT = path.join(ROOT, 'dist', 'roomtone')
const PARTS = [
  ...['models', 'openapi.json', 'scripts/install-agent.sh', 'src', 'sql', 'systemd'],
  ...['build.mjs', 'package.json', 'package-lock.json', 'scripts/console.ts'],
]

function newestSource(): number {
  const files = PARTS.flatMap((part) => {
    const at = path.join(ROOT, part)
    return fs.statSync(at).isFile()
      ? [at]
      : fs.readdirSync(at, { recursive: true }).map((f) => path.join(at, String(f)))
  })
  return Math.max(...files.map((file) => fs.statSync(file).mtimeMs))
}

const isStale = (): boolean => !fs.existsSync(BUILT) || fs.statSync(BUILT).mtimeMs < newestSource()

/**
 * Path of the executable: the one that `ROOMTONE` names, else `dist/roomtone`, built first when a source is newer. Test
 * files run in parallel processes: the kernel's file lock makes one build and the others wait, and is gone with its holder.
 */
export async function executable(): Promise<string> {
  if (process.env.ROOMTONE) return process.env.ROOMTONE
  if (!isStale()) return BUILT
  fs.mkdirSync(path.join(ROOT, '.cache'), { recursive: true })
  const lock = path.join(ROOT, '.cache', 'build.lock')
  const child = spawn('flock', [lock, process.execPath, import.meta.filename], { stdio: ['ignore', 'ignore', 'pipe'] })
  const said: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the build failed:\n${Buffer.concat(said).toString()}`)
  return BUILT
}

// Run as a program, under the lock: another process may have built in the meantime.
if (import.meta.main && isStale())
  execFileSync(process.execPath, ['build.mjs'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
