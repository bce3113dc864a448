// The part of the WebAssembly interface this folder uses; the types of Node leave it out, those of browsers have it.
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer
    grow(pages: number): number
  }
  interface Module {
    readonly kind: 'module'
  }
  interface Instance {
    readonly exports: Record<string, unknown>
  }
  function compile(bytes: Uint8Array): Promise<Module>
  function instantiate(module: Module, imports: Record<string, Record<string, unknown>>): Promise<Instance>
}
