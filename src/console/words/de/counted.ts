const plural = new Intl.PluralRules('de')
/** `1 Aufnahme`, `2 Aufnahmen`. */
export const counted = (n: number, one: string, other: string): string =>
  `${n.toLocaleString('de')} ${plural.select(n) === 'one' ? one : other}`
