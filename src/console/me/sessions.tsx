import type { Session } from '../../wire/access.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Badge, Button, Failure, Loading, Section } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** Where one is signed in, and how to end it elsewhere. */
export function Sessions() {
  const words = useWords()
  const say = useToast()
  const sessions = useRead<{ data: Session[] }>('/auth/sessions', ['user'])
  const end = useWrite(() => say(words.me.ended))
  const others = sessions.data?.data.some(({ current }) => !current) ?? false
  return (
    <Section
      title={words.me.sessions}
      aside={
        <Button
          disabled={!others || end.isPending}
          onClick={() => end.mutate({ method: 'DELETE', path: '/auth/sessions?others=1' })}
        >
          {words.me.endOthers}
        </Button>
      }
    >
      {end.error && <Failure error={end.error} />}
      <Loading of={sessions}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.map(({ current, id, ipAddress, kind, lastSeenAt }) => (
              <li key={id} class={ui.row}>
                <span class={ui.grow}>
                  {words.me.kinds[kind]} {ipAddress} · <When at={lastSeenAt} />
                </span>{' '}
                {current ? (
                  <Badge state="online" word={words.me.here} />
                ) : (
                  <Button
                    disabled={end.isPending}
                    onClick={() => end.mutate({ method: 'DELETE', path: `/auth/sessions/${encodeURIComponent(id)}` })}
                  >
                    {words.me.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loading>
    </Section>
  )
}
