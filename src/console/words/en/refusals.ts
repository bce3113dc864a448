/** What the server refuses, and why. */
export const refusals = {
  /**
   * What a reason of the API means and what to do, by docs/reasons.md; one without a sentence is told as the server tells
   * it.
   */
  reasons: {
    active_job_exists: 'It is already being recorded again: leave it out, or wait until that has ended.',
    already_exists: 'One with this name or id already exists: choose another one.',
    capture_channels_busy: 'The device or these channels are in use: stop that recording first, or choose others.',
    channel_map_template_exists: 'A channel map with this id exists: choose another id.',
    duplicate_recording_selection: 'Two of these jobs are of the same recording: retry one of them.',
    health_event_resolved: 'This alert is already resolved: reopen it first.',
    in_use: 'Something else still uses this: change that first.',
    job_not_retryable: 'Only what failed or was cancelled can be retried.',
    monitor_source_unavailable: 'The recorder sends no live sound: check that it is connected and has a device.',
    no_next_occurrence: 'No occurrence is left to skip.',
    move_not_undoable:
      'This move cannot be undone any more: the occurrence has begun, its date is over, or something has changed.',
    notification_channel_in_use: 'Rules use this channel: give them another one, or delete them, first.',
    notification_channel_secret_required:
      'Another server, or another way to it: enter the password or token again, so that it goes where you mean it to.',
    notification_not_retryable: 'Only a message that failed is sent again, and only by a channel that is there and on.',
    notification_secret_unreadable: 'The secret of this channel cannot be read any more: enter it again.',
    node_capture_capacity_reached:
      'The recorder is already making as many recordings as it may: stop one first, or allow it more.',
    occurrence_not_movable: 'This occurrence cannot be moved: it is over, the schedule is off, or it has changed.',
    plan_not_pending: 'This plan has already been applied: make a new one.',
    recording_active: 'A recording under way cannot be deleted: stop it first.',
    recording_file_unavailable: 'The file of this recording cannot be read: check the disk of the controller.',
    recording_interface_not_found: 'The recorder has no such device: choose another one.',
    recording_job_not_stoppable: 'One of these recordings has ended or is being stopped: leave it out.',
    library_damaged: 'This take is no longer where it was uploaded to. If another copy is left, it is uploaded again.',
    library_needs_s3: 'Only S3 destinations keep the library.',
    library_unreachable: 'The destination that holds this take does not answer. Try again in a while.',
    recording_not_cached: 'The file of this recording has not arrived yet: wait until it is stored.',
    rollback_target_not_found: 'There is no earlier map to go back to: assign one.',
    id_used_before: 'This id exists or existed. Choose another.',
    denied_by_rule:
      'An access rule denies it to somebody. Remove the rule first (Access, Rules): it would not hold for the takes without it.',
    room_in_use: 'Schedules record in this room: delete them, or give them another room, first.',
    schedule_disabled: 'This schedule is off: enable it first.',
    schedule_interface_not_found: 'The recorder has no such device: choose another one.',
    schedule_node_not_found: 'There is no such recorder: choose another one.',
    self_auth_manage_required: 'You cannot remove your own right to manage access: ask somebody else who manages it.',
    system_ref_in_use: 'Another device of this recorder has this reference already: choose another one.',
    switcher_exists: 'A switcher with this id exists: choose another id.',
    too_many_exceptions: 'This schedule has too many exceptions: remove old ones first.',
    unknown_assignee: 'Some of these people or groups are gone: choose again.',
    unknown_member: 'Some of these members are gone: load the group again.',
    upload_destination_exists: 'A destination with this id exists: choose another id.',
    upload_destination_holds_library:
      'Takes are at this destination alone: upload them to another one that keeps the library first, or delete them.',
    upload_destination_in_use: 'Upload policies use this destination: give them another one first.',
    upload_policy_disabled: 'This upload policy is off: enable it first.',
    upload_policy_exists: 'An upload policy with this id exists: choose another id.',
    upload_queue_item_not_retryable: 'Only an upload that failed can be retried.',
    user_exists: 'There is already a person with this e-mail: choose another one, or edit that person.',
  } as Record<string, string>,
  /** What the server tells without a reason, by its own words. */
  said: {} as Record<string, string>,
  /** The same of sentences with names and numbers in them, by their shape. */
  shaped: [] as (readonly [shape: RegExp, told: (...parts: string[]) => string])[],
  /** A fault of a field, where the field is not to be seen. */
  at: (field: string, fault: string) => (field === '' ? fault : `${field}: ${fault}`),
  /** What schemas find, by what they expect. */
  issue: {
    required: 'Required.',
    shorter: (most: string) => `Too long: at most ${most} characters.`,
    longer: (least: string) => `Too short: at least ${least} characters.`,
    fewer: (most: string) => `Too many: at most ${most}.`,
    more: (least: string) => `Too few: at least ${least}.`,
    atLeast: (least: string) => `At least ${least}.`,
    atMost: (most: string) => `At most ${most}.`,
    above: (least: string) => `More than ${least}.`,
    below: (most: string) => `Less than ${most}.`,
    number: 'Enter a number.',
    whole: 'Enter a whole number.',
    steps: (step: string) => `Only multiples of ${step}.`,
    choice: 'This cannot be chosen here.',
    unknown: (names: string) => `The server does not know: ${names}.`,
    other: 'This is not accepted.',
    formats: {
      date: 'Enter a date.',
      datetime: 'Enter a date and a time.',
      email: 'This is not a valid e-mail address.',
      time: 'Enter a time.',
      url: 'This is not a valid web address.',
    } as Record<string, string>,
  },
}
