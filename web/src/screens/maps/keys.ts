/** A key as it is shown: any text can be one, none at all, too. */
export function keyText(key: string): string {
  return key || "(empty key)";
}
