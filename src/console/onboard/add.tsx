import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import type { Node } from '../../wire/nodes.ts'
import type { SetupFile } from '../../wire/provision.ts'
import { useRead } from '../data/reads.ts'
import { isSilent } from '../rooms/list.rules.ts'
import { useTestTake } from '../rooms/testtake.tsx'
import { Button, classes, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Hear } from './hear.tsx'
import { NameForm } from './name.tsx'
import css from './onboard.module.css'
import { SetUp } from './setup.tsx'

/** From a name to hearing the room. Where one is stands in the address: a reload goes on. */
export function AddPage(_: { id: string }) {
  const words = useWords()
  const [params, setParams] = useSearchParams()
  // The token is shown once and gone with the page.
  const [file, setFile] = useState<SetupFile>()
  const id = params.get('node')
  return (
    <>
      <Title>{words.onboard.title}</Title>
      {id === null ? (
        <Steps at={0}>
          <NameForm
            preset={params.get('site') ?? ''}
            done={(made) => {
              setFile(made)
              setParams({ node: made.nodes[0]?.nodeId ?? '' })
            }}
          />
        </Steps>
      ) : (
        <Enrolled id={id} file={file} made={setFile} />
      )}
    </>
  )
}

interface EnrolledProps {
  file: SetupFile | undefined
  id: string
  made(file: SetupFile): void
}

/**
 * `anew` in the address: a recorder that is there is set up once more. One that has been heard before is not asked for its
 * token again when it is away for a moment.
 */
function Enrolled({ file, id, made }: EnrolledProps) {
  const [params, setParams] = useSearchParams()
  const node = useRead<{ data: Node }>(`/nodes/${encodeURIComponent(id)}`, ['node'])
  const anew = params.has('anew')
  const goTo = (more: Record<string, string>): void => setParams({ node: id, ...more })
  return (
    <Loading of={node}>
      {({ data }) =>
        anew || data.status === 'provisioning' || data.status === 'retired' ? (
          <Steps at={data.status === 'offline' ? 2 : 1}>
            <SetUp file={file?.nodes[0]?.nodeId === id ? file : undefined} made={made} node={data} />
            {anew && !isSilent(data) && <GoOn go={() => goTo({})} />}
          </Steps>
        ) : (
          <Heard again={() => goTo({ anew: '1' })} node={data} />
        )
      }
    </Loading>
  )
}

function GoOn({ go }: { go(): void }) {
  const words = useWords()
  return (
    <p>
      <Button onClick={go}>{words.onboard.goOn}</Button>
    </p>
  )
}

/** Its test take ends the way once it is stored. */
function Heard({ again, node }: { again(): void; node: Node }) {
  const stored = useTestTake(node).made?.cached === true
  return (
    <Steps at={stored ? 4 : 3}>
      <Hear again={again} node={node} />
      {stored && <Done node={node} />}
    </Steps>
  )
}

/** The way through; the step one is at says so by itself. */
function Steps({ at, children }: { at: number; children: ComponentChildren }) {
  const words = useWords()
  return (
    <>
      <ol class={css.steps}>
        {words.onboard.steps.map((step, i) => (
          <li key={step} class={classes(i < at && ui.good)} {...(i === at ? { 'aria-current': 'step' as const } : {})}>
            {step}
          </li>
        ))}
      </ol>
      {children}
    </>
  )
}

function Done({ node }: { node: Node }) {
  const words = useWords()
  const room = node.roomId === undefined ? undefined : `/rooms/${encodeURIComponent(node.roomId)}`
  return (
    <Section title={words.onboard.done}>
      <p role="status">
        <Name>{`${node.location.site}, ${node.location.room}: ${node.alias}`}</Name>
      </p>
      <div class={ui.row}>
        {room && (
          <>
            <Link class={ui.button} href={`${room}/label`}>
              {words.onboard.label}
            </Link>
            <Link class={ui.button} href={room}>
              {words.onboard.toRoom}
            </Link>
          </>
        )}
        <Link class={classes(ui.button, ui.primary)} href={`/add?site=${encodeURIComponent(node.location.site)}`}>
          {words.onboard.next}
        </Link>
      </div>
    </Section>
  )
}
