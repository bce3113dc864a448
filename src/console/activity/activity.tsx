import { Tabs, Title } from '../ui/parts.tsx'
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
      <Tabs at={at} label={words.activity.title} tabs={parts} />
    </>
  )
}
