import { Link } from 'wouter-preact'
import { classes, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Captures } from './captures.tsx'
import { Uploads } from './uploads.tsx'

/** What the recorders capture, and what is on its way to destinations. */
export const CapturesPage = (_: { id: string }) => (
  <>
    <Heading at="/activity" />
    <Captures />
  </>
)

export const UploadsPage = (_: { id: string }) => (
  <>
    <Heading at="/activity/uploads" />
    <Uploads />
  </>
)

function Heading({ at }: { at: string }) {
  const words = useWords()
  const parts = [
    ['/activity', words.activity.captures],
    ['/activity/uploads', words.activity.uploads],
  ] as const
  return (
    <>
      <Title>{words.activity.title}</Title>
      <nav aria-label={words.activity.title}>
        <ul class={ui.tabs}>
          {parts.map(([path, word]) => (
            <li key={path}>
              <Link href={path} class={classes(ui.tab)} {...(path === at ? { 'aria-current': 'page' as const } : {})}>
                {word}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
    </>
  )
}
