import type { ComponentProps } from 'preact'
import { useState } from 'preact/hooks'
import { useWords } from '../words/words.ts'
import { Field } from './form.tsx'

/** A new password: typed once, so it can be looked at. */
export function NewPassword(field: Pick<ComponentProps<typeof Field>, 'label' | 'name'>) {
  const words = useWords()
  const [shown, setShown] = useState(false)
  return (
    <>
      <Field {...field} type={shown ? 'text' : 'password'} autocomplete="new-password" minLength={8} required />
      <div>
        <label>
          {/* At input, not at change: a form that hears of the input would draw the old tick again before. */}
          <input type="checkbox" checked={shown} onInput={(e) => setShown(e.currentTarget.checked)} />{' '}
          {words.common.showTyped}
        </label>
      </div>
    </>
  )
}

export function CurrentPassword() {
  const words = useWords()
  return (
    <Field name="currentPassword" type="password" label={words.me.current} autocomplete="current-password" required />
  )
}
