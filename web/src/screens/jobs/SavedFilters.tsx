import { Button, Group, Menu, Modal, TextInput } from "@mantine/core";
import { IconBookmark } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import { filters, type JobFilter, savedAs, useSavedFilters } from "./saved";

/** A menu of the filters that were given a name in this browser. */
export function SavedFilters({ now, onChoose }: { now: JobFilter; onChoose: (filter: JobFilter) => void }) {
  const { saved, save, forget } = useSavedFilters();
  const [naming, setNaming] = useState(false);
  const current = savedAs(saved, now);
  return (
    <>
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Button variant="default" leftSection={<IconBookmark size={16} />}>
            Saved filters
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {saved.map((each) => (
            <Menu.Item key={each.title} fw={each === current ? 600 : 400} onClick={() => onChoose(each.filter)}>
              {each.title}
            </Menu.Item>
          ))}
          {saved.length > 0 && <Menu.Divider />}
          {current ? (
            <Menu.Item onClick={() => forget(current.title)}>Forget “{current.title}”</Menu.Item>
          ) : (
            <Menu.Item disabled={!filters(now)} onClick={() => setNaming(true)}>
              {filters(now) ? "Save what is shown now…" : "All jobs are shown: there is nothing to save"}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {naming && (
        <NameDialog
          onSave={(title) => {
            save(title, now);
            setNaming(false);
          }}
          onClose={() => setNaming(false)}
        />
      )}
    </>
  );
}

function NameDialog({ onSave, onClose }: { onSave: (title: string) => void; onClose: () => void }) {
  const [title, setTitle] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim()) onSave(title.trim());
  };
  return (
    <Modal opened onClose={onClose} title="Save these filters in this browser">
      <form onSubmit={submit}>
        <TextInput
          label="Title"
          description="One that is there already is replaced."
          maxLength={100}
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
          data-autofocus
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Save nothing
          </Button>
          <Button type="submit" disabled={!title.trim()}>
            Save filters
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
