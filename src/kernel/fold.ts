/** Normalizes a text for searching: ignores case, width and composition of letters. */
export const folded = (text: string): string => text.normalize('NFKC').toLowerCase().normalize('NFKC')
