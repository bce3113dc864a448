const plural = new Intl.PluralRules('en')
/** `1 take`, `2 takes`. */
export const counted = (n: number, one: string, other: string): string =>
  `${n.toLocaleString('en')} ${plural.select(n) === 'one' ? one : other}`
