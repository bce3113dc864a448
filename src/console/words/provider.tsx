import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { en, type Words } from './en.ts'
import { type Language, load, preferred, remember, WordsContext } from './words.ts'

/** The words of the chosen language around everything; until they have come, nothing. */
export function WordsProvider({ children }: { children: ComponentChildren }) {
  const [language, setLanguage] = useState<Language>(preferred)
  const [words, setWords] = useState<Words | undefined>(language === 'en' ? en : undefined)
  useEffect(() => {
    let current = true
    // A language that cannot be had now is English: the page is worth more than its words.
    void load(language)
      .catch(() => en)
      .then((loaded) => {
        // Another one was chosen while this came.
        if (!current) return
        document.documentElement.lang = loaded.locale.slice(0, 2)
        setWords(loaded)
      })
    return () => {
      current = false
    }
  }, [language])
  const choose = (next: Language): void => {
    remember(next)
    setLanguage(next)
  }
  return words && <WordsContext.Provider value={{ choose, language, words }}>{children}</WordsContext.Provider>
}
