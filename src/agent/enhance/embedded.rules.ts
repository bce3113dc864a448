const DATA = /data:application\/octet-stream;base64,([A-Za-z0-9+/=]+)/

/** The WebAssembly module a generated script carries as text. @throws Error when there is none */
export function embeddedWasm(script: string): Uint8Array {
  const found = DATA.exec(script)?.[1]
  if (!found) throw new Error('the script carries no WebAssembly module')
  return Buffer.from(found, 'base64')
}
