import { Anchor, type AnchorProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ReactNode } from 'react';

const UnderlinedAnchor = (props: AnchorProps & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps>): ReactNode => <Anchor underline="always" {...props} />;

/** A link to another page of the console. */
export const AnchorLink = createLink(UnderlinedAnchor);
