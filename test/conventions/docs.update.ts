// Makes anew what the repository takes from the code: scripts/node test/conventions/docs.update.ts
import { readFileSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { kit } from '../kit/kit.ts'
import { codeOf, renewed } from './docs.ts'

const place = (file: string): string => path.resolve(import.meta.dirname, '../..', file)
const k = kit()
for (const [file, text] of renewed(codeOf(k), (name) => readFileSync(place(name), 'utf8')))
  writeFileSync(place(file), text)
await k.close()
