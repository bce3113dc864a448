import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { keep, kept } from '../data/kept.ts'
import { en, type Words } from './en.ts'

interface LanguageState {
  choose(language: Language): void
  language: Language
  words: Words
}

export type Language = 'de' | 'en'
export const LANGUAGES: Record<Language, string> = { de: 'Deutsch', en: 'English' }
const KEY = 'roomtone.language'

export const WordsContext = createContext<LanguageState>({ choose: () => {}, language: 'en', words: en })
export const useWords = (): Words => useContext(WordsContext).words
export const useLanguage = (): LanguageState => useContext(WordsContext)

/** What was chosen here before, else the browser's first language that there is. */
export function preferred(): Language {
  const known = (language: string | null): language is Language => language !== null && language in LANGUAGES
  const chosen = kept(KEY)
  return known(chosen) ? chosen : (navigator.languages.map((language) => language.slice(0, 2)).find(known) ?? 'en')
}

export const remember = (language: Language): void => keep(KEY, language)

export const load = async (language: Language): Promise<Words> =>
  language === 'en' ? en : (await import('./de.ts')).de
