import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { assetBytes } from '../../kernel/assets.ts'
import { faultWords } from '../../kernel/words.ts'
import { type DeepModel, ModelUnusable } from './model.rules.ts'

const EMBEDDED_KEY = 'models/small-deep-denoiser.onnx'

function readFile(file: string): Uint8Array {
  try {
    return fs.readFileSync(file)
  } catch (e) {
    throw new ModelUnusable(`${file} cannot be read: ${faultWords(e, file)}`)
  }
}

/** Bytes of a model, which are the expected ones, and their SHA-256 (hex). @throws ModelUnusable */
export function readModel({ file, name, sha256: expected }: DeepModel): { bytes: Uint8Array; sha256: string } {
  const bytes = file === undefined ? assetBytes(EMBEDDED_KEY) : readFile(file)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (expected !== undefined && sha256 !== expected)
    throw new ModelUnusable(`${file ?? name} has SHA-256 ${sha256}, expected ${expected}`)
  return { bytes, sha256 }
}
