/** An answer made of text as it comes, as fast as the client reads. */
export function streamed(text: AsyncIterable<string>, headers: Record<string, string>): Response {
  const body = ReadableStream.from(text).pipeThrough(new TextEncoderStream())
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers })
}
