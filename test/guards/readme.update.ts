// Makes anew what README.md and src/GUIDE.md take from the code: scripts/node test/guards/readme.update.ts
import { readFileSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { kit } from '../kit/kit.ts'
import { anchored, renewed } from './readme.ts'

const place = (file: string): string => path.resolve(import.meta.dirname, '../..', file)
const read = (file: string): string => readFileSync(place(file), 'utf8')
const k = kit()
writeFileSync(place('README.md'), renewed(read('README.md'), k.routes))
writeFileSync(place('src/GUIDE.md'), anchored(read('src/GUIDE.md'), read))
await k.close()
