import { Component, type ComponentChildren } from 'preact'
import { Button } from '../ui/parts.tsx'
import { WordsContext } from '../words/words.ts'

/** A page that fails takes nothing else with it. Name it by `key`: another page begins anew. */
export class Boundary extends Component<{ children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false }

  static override getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    return (
      <WordsContext.Consumer>
        {({ words: { common, failures } }) => (
          <div role="alert">
            <h1>{failures.page}</h1>
            <Button onClick={() => location.reload()}>{common.retry}</Button>
          </div>
        )}
      </WordsContext.Consumer>
    )
  }
}
