/** A text as it is searched: letters that mean the same are one, whatever their case, width or composition. */
export const folded = (text: string): string => text.normalize('NFKC').toLowerCase().normalize('NFKC')
