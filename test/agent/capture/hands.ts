import { PassThrough } from 'node:stream'
import type { Device, Source, SourceEnd } from '../../../src/agent/capture/source.ts'

/** A device in the test's hands: it gives what it is told, when it is told. */
export function hands(name = 'hw:1') {
  const opened: { end(stderr: string): void; give(frames: Buffer): void; source: Source }[] = []
  const device: Device & { tells?: boolean } = {
    name,
    open: () => {
      const pcm = new PassThrough({ highWaterMark: 1 << 20 })
      const { promise, resolve } = Promise.withResolvers<SourceEnd>()
      let said = ''
      const end = (stderr: string, stopped = false) => {
        said = stderr
        pcm.end()
        resolve({ code: 1, stderr, stopped })
      }
      const stop = () => end('', true)
      const source: Source = { ended: promise, kill: stop, pcm, stderr: () => said, stop }
      opened.push({ end, give: (frames) => void pcm.write(frames), source })
      return source
    },
    test: false,
  }
  return { device, opened }
}
