// Reads an answer without an end, as far as the test wants it.
import assert from 'node:assert/strict'

export function reading(response: Response) {
  assert.ok(response.body)
  const reader = response.body.getReader()
  const text = new TextDecoder()
  let waiting = ''
  return {
    /** The next bytes; undefined at the end. */
    bytes: async (): Promise<Uint8Array | undefined> => (await reader.read()).value,
    /** The next event with this name, comments and others skipped; undefined at the end. */
    async event(name: string): Promise<unknown> {
      for (;;) {
        const end = waiting.indexOf('\n\n')
        const block = waiting.slice(0, Math.max(0, end))
        if (end >= 0) waiting = waiting.slice(end + 2)
        if (block.startsWith(`event: ${name}\ndata: `)) return JSON.parse(block.slice(`event: ${name}\ndata: `.length))
        if (end >= 0) continue
        const { done, value } = await reader.read()
        if (done) return undefined
        waiting += text.decode(value, { stream: true })
      }
    },
    /** The client goes. */
    cancel: () => reader.cancel(),
  }
}
