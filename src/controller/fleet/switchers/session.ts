// A TCP session with a line-based device.
import * as net from 'node:net'
import { faultWords } from '../../../kernel/words.ts'

/** A failure to talk to a device; the message is the reason code of the contract. */
export class DeviceError extends Error {}

export interface Address {
  host: string
  port: number
}

const LARGEST_REPLY = 1024 * 1024
const LONGEST_LINE = 4096
/** Longest wait for an answer before the next command is sent: the device works through commands one by one. */
const MOMENT_MS = 100
const [IAC, SB, SE, WILL, WONT, DO, DONT] = [255, 250, 240, 251, 252, 253, 254]

/**
 * A connection that sends commands and waits for complete answers up to a deadline. Silence never completes an answer: an
 * incomplete one is a failure. Telnet negotiation is refused.
 */
export class Session {
  private readonly socket: net.Socket
  private lines: string[] = []
  private rest = ''
  private telnet: number[] = []
  private received = 0
  private fault: DeviceError | undefined
  private wake: () => void = () => {}

  private constructor(socket: net.Socket) {
    this.socket = socket
    socket.on('data', (chunk) => this.take(chunk))
    socket.on('error', (e) => this.fail(`switcher_connection_lost: ${faultWords(e)}`))
    socket.on('close', () => this.fail('switcher_connection_lost'))
  }

  /** @throws DeviceError `switcher_connect_timeout` or `switcher_connect_failed`. */
  static open({ host, port }: Address, ms: number, signal: AbortSignal): Promise<Session> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host, port })
      let session: Session | undefined
      const give = (reason: string) => {
        session?.fail(reason)
        socket.destroy()
        reject(new DeviceError(reason))
      }
      const stopped = () => give('switcher_stopped')
      const timer = setTimeout(() => give('switcher_connect_timeout'), ms)
      signal.addEventListener('abort', stopped)
      socket.once('error', (e: NodeJS.ErrnoException) => give(`switcher_connect_failed: ${faultWords(e)}`))
      socket.once('close', () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stopped)
      })
      socket.once('connect', () => {
        clearTimeout(timer)
        session = new Session(socket)
        resolve(session)
      })
      if (signal.aborted) stopped()
    })
  }

  /**
   * Sends a command and collects lines until `complete` returns a result.
   * @throws DeviceError `switcher_<step>_incomplete` or `_unanswered` at the deadline, and whatever `complete` throws.
   */
  ask<T>(step: string, command: string, ms: number, complete: (lines: string[]) => T | undefined): Promise<T> {
    this.begin()
    this.send(command)
    return this.collect(step, ms, complete)
  }

  /** Continues to collect the answer to an earlier command. */
  async collect<T>(step: string, ms: number, complete: (lines: string[]) => T | undefined): Promise<T> {
    const deadline = performance.now() + ms
    for (;;) {
      const answer = complete(this.lines)
      if (answer !== undefined) return answer
      if (this.fault) throw this.fault
      const left = deadline - performance.now()
      if (left <= 0) throw new DeviceError(`switcher_${step}_${this.lines.length > 0 ? 'incomplete' : 'unanswered'}`)
      await this.nextData(left)
    }
  }

  /** Begins a new exchange: discards earlier lines. */
  begin(): void {
    this.lines = []
  }

  /** Number of lines received in this exchange. */
  lineCount(): number {
    return this.lines.length
  }

  send(command: string): void {
    this.socket.write(`${command}\r\n`)
  }

  /** Sends a command that may or may not be answered, and waits a moment. */
  async sendAndPause(command: string): Promise<void> {
    const seen = this.lines.length
    this.send(command)
    const until = performance.now() + MOMENT_MS
    while (this.lines.length === seen && !this.fault && performance.now() < until)
      await this.nextData(until - performance.now())
  }

  close(): void {
    this.socket.destroy()
  }

  private nextData(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  private fail(reason: string): void {
    this.fault ??= new DeviceError(reason)
    this.socket.destroy()
    this.wake()
  }

  private take(chunk: Buffer): void {
    this.received += chunk.length
    const text = this.rest + Buffer.from(this.plain(chunk)).toString('latin1')
    const lines = text.split(/\r\n|\r|\n/)
    // A CR at the very end may be half of a line ending.
    this.rest = lines.pop() ?? ''
    if (this.received > LARGEST_REPLY || this.rest.length > LONGEST_LINE) this.fail('switcher_response_too_large')
    this.lines.push(...lines.map((line) => line.trim()).filter(Boolean))
    this.wake()
  }

  /** The bytes without telnet commands; every offer and demand is refused. */
  private plain(chunk: Buffer): number[] {
    const out: number[] = []
    for (const byte of chunk) {
      if (this.telnet.length === 0 && byte !== IAC) out.push(byte)
      else this.negotiate(byte, out)
    }
    return out
  }

  private negotiate(byte: number, out: number[]): void {
    this.telnet.push(byte)
    const [, verb] = this.telnet
    if (this.telnet.length < 2) return
    if (verb === IAC) out.push(IAC)
    if (verb === SB && !(byte === SE && this.telnet.at(-2) === IAC)) return
    if (verb !== undefined && verb >= WILL && verb <= DONT) {
      if (this.telnet.length < 3) return
      if (verb === WILL) this.socket.write(Buffer.from([IAC, DONT, byte]))
      if (verb === DO) this.socket.write(Buffer.from([IAC, WONT, byte]))
    }
    this.telnet = []
  }
}
