// What the loader never reads leaves an executable: symbols and line numbers for debuggers, a seventh of Node's own.

// Where things lie in the header of the file, of a segment and of a section (elf(5)).
const FILE = { segments: 32, sections: 40, segmentCount: 56, sectionCount: 60, nameSection: 62 }
const SEGMENT = { size: 56, type: 0, offset: 8, bytes: 32 }
const SECTION = { size: 64, flags: 8, offset: 24, bytes: 32, link: 40, info: 44 }
const PT_LOAD = 1
const SHF_ALLOC = 0x2n
/** `info` is the number of a section. */
const SHF_INFO_LINK = 0x40n

/**
 * A 64-bit little-endian ELF file with only what is loaded, as `strip` makes it, for any processor; the given one stays as
 * it is. @throws Error for any other file
 */
export function withoutSymbols(file: Buffer): Buffer {
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1)
    throw new Error('It is no 64-bit ELF file.')
  const loaded = file.subarray(0, endOfLoaded(file))
  const sections = sectionsOf(file)
  const names = file.readUInt16LE(FILE.nameSection)
  const isLoaded = (section: Buffer): boolean => (number64(section, SECTION.flags) & SHF_ALLOC) !== 0n
  // The first is none, and always there.
  const kept = [...sections.keys()].filter((i) => i === 0 || i === names || isLoaded(sections[i] as Buffer))
  const text = bytesOf(file, sections[names] as Buffer)
  const table = kept.map((i) => renumbered(sections[i] as Buffer, kept))
  table[kept.indexOf(names)]?.writeBigUInt64LE(BigInt(loaded.length), SECTION.offset)
  const gap = Buffer.alloc(-(loaded.length + text.length) & 7)
  const made = Buffer.concat([loaded, text, gap, ...table])
  made.writeBigUInt64LE(BigInt(loaded.length + text.length + gap.length), FILE.sections)
  made.writeUInt16LE(kept.length, FILE.sectionCount)
  made.writeUInt16LE(kept.indexOf(names), FILE.nameSection)
  return made
}

const number64 = (record: Buffer, at: number): bigint => record.readBigUInt64LE(at)

function endOfLoaded(file: Buffer): number {
  const from = Number(number64(file, FILE.segments))
  const segments = records(file, from, SEGMENT.size, file.readUInt16LE(FILE.segmentCount))
  const loaded = segments.filter((segment) => segment.readUInt32LE(SEGMENT.type) === PT_LOAD)
  return Math.max(
    ...loaded.map((segment) => Number(number64(segment, SEGMENT.offset) + number64(segment, SEGMENT.bytes))),
  )
}

const sectionsOf = (file: Buffer): Buffer[] =>
  records(file, Number(number64(file, FILE.sections)), SECTION.size, file.readUInt16LE(FILE.sectionCount))

const records = (file: Buffer, from: number, size: number, count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => file.subarray(from + i * size, from + (i + 1) * size))

function bytesOf(file: Buffer, section: Buffer): Buffer {
  const offset = Number(number64(section, SECTION.offset))
  return file.subarray(offset, offset + Number(number64(section, SECTION.bytes)))
}

/** A copy that names others by their place among the kept ones; 0, which is none, for one that left. */
function renumbered(section: Buffer, kept: number[]): Buffer {
  const made = Buffer.from(section)
  const renumber = (at: number): number => made.writeUInt32LE(Math.max(0, kept.indexOf(section.readUInt32LE(at))), at)
  renumber(SECTION.link)
  if (number64(section, SECTION.flags) & SHF_INFO_LINK) renumber(SECTION.info)
  return made
}
