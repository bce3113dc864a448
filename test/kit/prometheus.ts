// A Prometheus of Debian on a configuration of ours, asked as Grafana asks it.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import * as path from 'node:path'
import { stringify } from 'yaml'
import { until } from './whole.ts'

/** Why tests with it are skipped; false where it is installed. */
export const noPrometheus = spawnSync('promtool', ['--version']).error ? 'needs prometheus (Debian: prometheus)' : false

/** What promtool says of its input. @throws Error with its words when something is wrong */
export const promtool = (args: string[], input = ''): string =>
  execFileSync('promtool', args, { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'pipe'] })

interface Series {
  metric: Record<string, string>
  value: [at: number, value: string]
}

export class Prometheus {
  readonly #child: ChildProcess
  readonly #url: string
  #said = ''

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.#url = url
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#said += text
      })
  }

  /** Starts one in `dir`, which holds its data. @throws Error when it does not get ready */
  static async start(dir: string, config: object): Promise<Prometheus> {
    const file = path.join(dir, 'prometheus.yml')
    fs.mkdirSync(dir, { recursive: true })
    fs.writeFileSync(file, stringify(config))
    const address = `127.0.0.1:${await freePort()}`
    const flags = [`--config.file=${file}`, `--storage.tsdb.path=${dir}/data`, `--web.listen-address=${address}`]
    const prometheus = new Prometheus(spawn('prometheus', flags, { stdio: 'pipe' }), `http://${address}`)
    await until('Prometheus to be ready', async () => {
      assert.equal(prometheus.#child.exitCode, null, prometheus.#said)
      return (await fetch(`http://${address}/-/ready`).catch(() => undefined))?.ok
    })
    return prometheus
  }

  /** The result of an expression now. @throws Error when it is none */
  query = (expr: string): Promise<Series[]> =>
    this.#get<{ result: Series[] }>('query', { query: expr }).then(({ result }) => result)

  /** Labels of the series of a selector, of the last minutes. */
  series = (selector: string): Promise<Record<string, string>[]> => this.#get('series', { 'match[]': selector })

  rules = (): Promise<{ groups: { rules: { health: string; lastError?: string; name: string; query: string }[] }[] }> =>
    this.#get('rules', {})

  async #get<T>(what: string, query: Record<string, string>): Promise<T> {
    const answer = await fetch(`${this.#url}/api/v1/${what}?${new URLSearchParams(query)}`)
    const { data, error } = (await answer.json()) as { data: T; error?: string }
    assert.ok(answer.ok, `${JSON.stringify(query)}: ${error}`)
    return data
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'close')
    this.#child.kill('SIGKILL')
    await ended
  }
}

/** A port that was free a moment ago, for programs that do not tell the one they were given. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  return port
}
