import { ActionIcon, type ActionIconProps, Anchor, type AnchorProps, Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

/** What a link has beside what its looks take; the router makes its address. */
type Rest<Looks> = Looks & Omit<ComponentPropsWithRef<"a">, keyof Looks | "href">;

/** A link in a text to a place of the page. The types of its parameters are those of the place. */
export const PlaceLink = createLink((props: Rest<AnchorProps>) => <Anchor {...props} />);

/** A link that looks like a button. */
export const PlaceButton = createLink((props: Rest<ButtonProps>) => <Button component="a" {...props} />);

/** A link that looks like an icon alone. */
export const PlaceIcon = createLink((props: Rest<ActionIconProps>) => <ActionIcon component="a" {...props} />);
