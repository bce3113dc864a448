const made = new WeakSet<Response>()

/** An answer made of text as it comes, as fast as the client reads. */
export function streamed(text: AsyncIterable<string>, headers: Record<string, string>): Response {
  const body = ReadableStream.from(text).pipeThrough(new TextEncoderStream())
  const response = new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers })
  made.add(response)
  return response
}

/** Whether it is made while it is read: exports, and lists that are given whole. */
export const isStreamed = (response: Response): boolean => made.has(response)
