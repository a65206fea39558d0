import { Button, Group, Menu, Stack, Text, TextInput } from '@mantine/core';
import { IconBookmark, IconCheck, IconChevronDown } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useCell, usePerson } from '../auth/session.js';
import { BackButton, Dialog } from './dialog.js';
import { sayDone } from './done.js';
import { isolated, trimmed } from './numbers.js';
import { ProblemAlert } from './problem-alert.js';
import { RestoredDraft, useDraft } from './use-draft.js';
import { longestName, mostViews, type View, type ViewedList, viewsOf } from './views.js';

const textOf = (search: object): string => JSON.stringify(Object.entries(search).sort(([one], [other]) => one.localeCompare(other)));

/** Saves the filters and the order of a list under a name, and opens them again. */
export function SavedViews<Search extends object>({ list, current, read, onOpen }: {
  readonly list: ViewedList;
  /** What the list shows now. */
  readonly current: Search;
  /** Reads the search of an address. */
  readonly read: (search: Record<string, unknown>) => Search;
  readonly onOpen: (search: Search) => void;
}): ReactNode {
  const views = viewsOf(usePerson().username, list, read);
  const all = useCell(views.all);
  const [dialog, setDialog] = useState<'save' | 'manage'>();
  const close = (): void => setDialog(undefined);
  const shown = all.find(({ search }) => textOf(search) === textOf(current));
  return (
    <>
      <Menu position="bottom-end" width={280}>
        <Menu.Target>
          <Button variant="default" px={10} maw={200} style={{ flexShrink: 0 }} aria-label={shown ? `Views: ${shown.name}` : 'Views'}>
            <IconBookmark size={16} style={{ flexShrink: 0 }} />
            <Text span inherit truncate visibleFrom="xs" mx={8}>{shown?.name ?? 'Views'}</Text>
            <IconChevronDown size={14} style={{ flexShrink: 0 }} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="60dvh" style={{ overflowY: 'auto' }}>
          {all.map((view) => (
            <Menu.Item key={view.name} aria-current={view === shown || undefined} rightSection={view === shown && <IconCheck size={16} aria-hidden />} onClick={() => onOpen(view.search)} style={{ overflowWrap: 'anywhere' }}>{view.name}</Menu.Item>
          ))}
          {all.length > 0 && <Menu.Divider />}
          <Menu.Item disabled={shown !== undefined || all.length >= mostViews} onClick={() => setDialog('save')}>Save what is shown …</Menu.Item>
          {all.length > 0 && <Menu.Item onClick={() => setDialog('manage')}>Rename or delete …</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      {dialog === 'save' && <SaveDialog list={list} isKnown={(name) => views.named(name) !== undefined} onSave={(name) => views.save({ name, search: current })} onClose={close} />}
      {dialog === 'manage' && (
        <Dialog isBusy={false} onClose={close} title="Saved views">
          <Stack>
            {all.map((view) => <ViewRow key={view.name} list={list} view={view} isTaken={(name) => ![undefined, view].includes(views.named(name))} onRename={(name) => views.rename(view.name, name)} onDelete={() => views.delete(view.name)} />)}
            {all.length === 0 && <Text size="sm">There are no views.</Text>}
            <Group justify="flex-end"><BackButton label="Close" /></Group>
          </Stack>
        </Dialog>
      )}
    </>
  );
}

function SaveDialog({ list, isKnown, onSave, onClose }: { readonly list: ViewedList; readonly isKnown: (name: string) => boolean; readonly onSave: (name: string) => void; readonly onClose: () => void }): ReactNode {
  const draft = useDraft(`view of ${list}`, { name: '' });
  const [error, setError] = useState<unknown>();
  const name = trimmed(draft.value.name);
  return (
    <Dialog isBusy={false} onClose={onClose} title="Save what is shown">
      <form onSubmit={(event) => {
        event.preventDefault();
        try {
          onSave(name);
        } catch (refusal) {
          setError(refusal);
          return;
        }
        draft.clear();
        sayDone(`The view ${isolated(name)} is saved.`);
        onClose();
      }}>
        <Stack>
          <RestoredDraft draft={draft} />
          <TextInput label="Name" description="This browser keeps the filters and the order for you. No one else sees them." required data-autofocus autoComplete="off" {...viewName} value={draft.value.name} onChange={({ currentTarget: { value } }) => draft.change({ name: value })} />
          {isKnown(name) && <Text size="sm" role="status">This replaces your view of the same name.</Text>}
          <ProblemAlert error={error} title="The view was not saved" />
          <Group justify="flex-end"><BackButton /><Button type="submit">Save the view</Button></Group>
        </Stack>
      </form>
    </Dialog>
  );
}

const viewName = { pattern: `(?=.*[^\\p{C}\\p{Z}\\p{M}\\p{Default_Ignorable_Code_Point}]).{1,${longestName}}`, title: `At most ${longestName} characters, with letters or digits` };

/** The dialog is open already: its own first focus is elsewhere. */
const focusOn = (button: HTMLButtonElement | null): void => button?.focus();

function ViewRow({ list, view, isTaken, onRename, onDelete }: { readonly list: ViewedList; readonly view: View<object>; readonly isTaken: (name: string) => boolean; readonly onRename: (name: string) => void; readonly onDelete: () => void }): ReactNode {
  const draft = useDraft(`name of the view ${view.name} of ${list}`, { name: view.name });
  const { name } = draft.value;
  const [isAsking, setAsking] = useState(false);
  if (isAsking) {
    return (
      <Group justify="space-between">
        <Text size="sm" style={{ flex: 1, overflowWrap: 'anywhere' }}>Delete the view {isolated(view.name)}?</Text>
        <Button variant="default" onClick={() => setAsking(false)} ref={focusOn}>Keep it</Button>
        <Button color="red" onClick={onDelete}>Delete it</Button>
      </Group>
    );
  }
  const wanted = trimmed(name);
  return (
    <form onSubmit={(event) => {
      event.preventDefault();
      if (wanted !== '' && wanted !== view.name && !isTaken(wanted)) {
        draft.forget();
        onRename(wanted);
      }
    }}>
      <RestoredDraft draft={draft} />
      <Group align="flex-start" wrap="nowrap" gap="xs">
        <TextInput aria-label={`Name of the view ${view.name}`} style={{ flex: 1 }} required autoComplete="off" {...viewName} value={name} onChange={({ currentTarget: { value } }) => draft.change({ name: value })} error={isTaken(wanted) && 'Another view has this name.'} />
        <Button type="submit" variant="default" px="xs" disabled={wanted === '' || wanted === view.name || isTaken(wanted)} aria-label={`Rename the view ${view.name}`}>Rename</Button>
        <Button variant="default" px="xs" aria-label={`Delete the view ${view.name}`} onClick={() => setAsking(true)}>Delete</Button>
      </Group>
    </form>
  );
}
