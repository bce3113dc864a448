const ENTITIES: Record<string, string> = { '"': '&quot;', '&': '&amp;', "'": '&#39;', '<': '&lt;', '>': '&gt;' }

/** Text as HTML shows it, also within the quotes of an attribute. The one place: what is missed here is a hole everywhere. */
export const escapedHtml = (text: string): string =>
  text.replace(/["&'<>]/g, (character) => ENTITIES[character] as string)
