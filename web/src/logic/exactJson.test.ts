import { expect, test } from "vitest";
import { parsedExactly, Written } from "./exactJson";

test("what is read is written again to the last digit", () => {
  const text = '{"id":9007199254740993,"long":12345678901234567890123,"whole":1.0,"small":1e-7,"none":-0,"n":[1,2.5]}';
  expect(JSON.stringify(parsedExactly(text))).toBe(text);
});

test("a number is no text of the same signs", () => {
  expect(parsedExactly("9007199254740993")).toEqual(new Written("9007199254740993"));
  expect(parsedExactly('"9007199254740993"')).toBe("9007199254740993");
});

test("numbers that JavaScript writes the same stay numbers", () => {
  expect(parsedExactly('{"a": [1, -2.5, 9007199254740991], "b": "x"}')).toEqual({
    a: [1, -2.5, 9007199254740991],
    b: "x",
  });
});

test("a field that every object has by birth is a field", () => {
  expect(Object.keys(parsedExactly('{"__proto__": 1.0}') as object)).toEqual(["__proto__"]);
});
