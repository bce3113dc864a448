// A virtual object store: what the controller's S3 client asks of Node is answered here, over a line that has faults of its own.
import { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type * as http from 'node:http'
import { Writable } from 'node:stream'
import { Answered, broken, type Line, type Network } from './network.ts'
import type { Life } from './time.ts'

interface StoreObject {
  body: Buffer
  /** Hex. */
  sha256: string
  /** Of the item of the upload queue it was sent for. */
  uploadId: string
}

export const STORE = 'store'

/** Its one bucket. */
export class ObjectStore {
  readonly objects = new Map<string, StoreObject>()

  /** What is held of an upload; undefined: nothing. */
  ofUpload(id: string): StoreObject | undefined {
    return [...this.objects.values()].find(({ uploadId }) => uploadId === id)
  }

  answer(method: string, path: string, headers: Record<string, string>, body: Buffer): Reply {
    const key = decodeURIComponent(path.split('?')[0] ?? '')
    if (method === 'PUT') return this.#put(key, headers, body)
    const held = this.objects.get(key)
    if (!held) return { headers: {}, status: 404 }
    const about = { ...summed(held.sha256), 'content-length': String(held.body.length) }
    if (method === 'HEAD') return { headers: about, status: 200 }
    return method === 'GET' ? { body: held.body, headers: about, status: 200 } : { headers: {}, status: 501 }
  }

  #put(key: string, headers: Record<string, string>, body: Buffer): Reply {
    const sha256 = createHash('sha256').update(body).digest('hex')
    const { 'x-amz-content-sha256': declared, 'x-amz-meta-upload_queue_id': uploadId = '' } = headers
    if (declared !== sha256 && declared !== 'UNSIGNED-PAYLOAD') return { headers: {}, status: 400 }
    this.objects.set(key, { body, sha256, uploadId })
    return { headers: summed(sha256), status: 200 }
  }
}

interface Reply {
  body?: Buffer
  headers: Record<string, string>
  status: number
}

const summed = (sha256: string) => ({
  etag: `"${sha256.slice(0, 32)}"`,
  'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64'),
})

/** A `http.ClientRequest`, as far as the AWS SDK uses one. */
export class StoreAsking extends Writable {
  readonly socket = Object.assign(new EventEmitter(), {
    connecting: true,
    destroy: () => this.destroy(),
    setKeepAlive: () => {},
    setTimeout: (ms: number, late: () => void) => {
      this.#silence = setTimeout(late, ms)
    },
  })
  readonly #life: Life
  readonly #line: Line
  readonly #network: Network
  readonly #options: http.RequestOptions
  readonly #sent: Buffer[] = []
  #silence: NodeJS.Timeout | undefined

  constructor(network: Network, life: Life, options: http.RequestOptions, onResponse: (r: Answered) => void) {
    super({ autoDestroy: false })
    this.#life = life
    this.#line = network.lineOf(STORE)
    this.#network = network
    this.#options = options
    this.once('response', onResponse)
    process.nextTick(() => this.emit('socket', this.socket))
    this.#after(this.#delay(), () => this.#connect())
  }

  #delay(): number {
    return this.#network.time.random.skewed(...this.#line.delay)
  }

  #after(ms: number, run: () => void): void {
    this.#network.time.plan(ms, () => this.destroyed || run(), this.#life)
  }

  #connect(): void {
    if (this.#line.cut) return
    this.socket.connecting = false
    this.socket.emit('connect')
    // Whoever sends much waits to be asked for it.
    this.emit('continue')
  }

  override _write(piece: Buffer, _: BufferEncoding, done: () => void): void {
    this.#sent.push(piece)
    this.#after((piece.length / this.#line.rate) * 1000, done)
  }

  override _final(done: () => void): void {
    done()
    const arrives = () => this.#after(this.#delay(), () => this.#answer())
    if (this.socket.connecting) this.socket.once('connect', arrives)
    else arrives()
  }

  /** What comes in is done; the answer to it can be lost. */
  #answer(): void {
    const { random } = this.#network.time
    if (this.#line.cut) return
    if (random.chance(this.#line.losesAsked)) return void this.destroy(broken('ECONNRESET'))
    const { headers = {}, method = 'GET', path } = this.#options
    const told = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])
    const reply = this.#network.store.answer(method, path ?? '/', Object.fromEntries(told), Buffer.concat(this.#sent))
    const { body = Buffer.alloc(0), status } = reply
    const lost = random.chance(this.#line.losesAnswers)
    this.#after(this.#delay() + (body.length / this.#line.rate) * 1000, () => {
      if (lost) return void this.destroy(broken('ECONNRESET'))
      const answered = new Answered(status, { date: new Date().toUTCString(), ...reply.headers }, body)
      answered.once('end', () => this.destroy())
      this.emit('response', answered)
    })
  }

  override _destroy(e: Error | null, done: (e?: Error | null) => void): void {
    clearTimeout(this.#silence)
    done(e)
  }
}
