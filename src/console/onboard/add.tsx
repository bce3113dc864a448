import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import type { Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import { useRead } from '../data/reads.ts'
import { SILENT } from '../rooms/trial.tsx'
import { Button, classes, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Hear } from './hear.tsx'
import { NameIt } from './name.tsx'
import css from './onboard.module.css'
import type { SetupFile } from './setup.ts'
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
          <NameIt
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

/** `anew` in the address: a recorder that is there is set up once more. `take`: its test take, which ends the way once it is stored. */
function Enrolled({ file, id, made }: EnrolledProps) {
  const words = useWords()
  const [params, setParams] = useSearchParams()
  const node = useRead<{ data: Node }>(`/nodes/${encodeURIComponent(id)}`, ['node'])
  const take = params.get('take')
  const trial = useRead<{ data: Recording }>(take === null ? undefined : `/recordings/${encodeURIComponent(take)}`, [
    'recording',
    'job',
  ])
  const stored = trial.data?.data.cached === true
  const anew = params.has('anew')
  const goTo = (more: Record<string, string>): void => setParams({ node: id, ...more })
  return (
    <Loading of={node}>
      {({ data }) =>
        anew || SILENT.has(data.status) ? (
          <Steps at={data.status === 'offline' ? 2 : 1}>
            <SetUp file={file?.nodes[0]?.nodeId === id ? file : undefined} made={made} node={data} />
            {anew && !SILENT.has(data.status) && (
              <p>
                <Button onClick={() => goTo({})}>{words.onboard.goOn}</Button>
              </p>
            )}
          </Steps>
        ) : (
          <Steps at={stored ? 4 : 3}>
            <Hear made={trial.data?.data} node={data} started={(started) => goTo({ take: started })} />
            {stored && <Done node={data} />}
          </Steps>
        )
      }
    </Loading>
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
