/** Zones as proposals for a field with this `list`; others are typed. */
export const Zones = ({ id }: { id: string }) => (
  <datalist id={id}>
    {['UTC', ...Intl.supportedValuesOf('timeZone')].map((name) => (
      <option key={name} value={name} />
    ))}
  </datalist>
)
