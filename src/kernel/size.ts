const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** A number of bytes for people: whole bytes, or two to four digits of the largest unit that fits, as in `3.4 MiB`. */
export function sizeText(bytes: number): string {
  let unit = 0
  let size = bytes
  // What would be rounded to 1024 is one of the next unit.
  while (size >= 1023.5 && unit < UNITS.length - 1) {
    size /= 1024
    unit++
  }
  return `${unit === 0 || size >= 99.95 ? Math.round(size) : size.toFixed(1)} ${bytes === 1 ? 'byte' : UNITS[unit]}`
}
