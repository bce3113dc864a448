// Makes anew what docs/ takes from the code: scripts/node test/conventions/readme.update.ts
import { readFileSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { kit } from '../kit/kit.ts'
import { PAGES, renewed } from './readme.ts'

const place = (file: string): string => path.resolve(import.meta.dirname, '../..', file)
const read = (file: string): string => readFileSync(place(file), 'utf8')
const k = kit()
for (const page of PAGES) writeFileSync(place(page), renewed(page, read(page), k.routes))
await k.close()
