import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes JSON: maps, lists, strings, numbers (Long or Double), booleans and null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** @throws IllegalArgumentException if the text is not JSON */
    static Object read(String text) {
        Json json = new Json(text);
        try {
            Object value = json.value();
            if (json.peek() != '\0') throw json.unexpected();
            return value;
        } catch (IndexOutOfBoundsException e) {
            throw json.unexpected();
        }
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private IllegalArgumentException unexpected() {
        return new IllegalArgumentException("not JSON at character " + at);
    }

    /** The next character that is not white space; \0 at the end. */
    private char peek() {
        while (at < text.length() && text.charAt(at) <= ' ') at++;
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private boolean skip(char expected) {
        if (peek() != expected) return false;
        at++;
        return true;
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) throw unexpected();
        at += word.length();
        return value;
    }

    private Object value() {
        return switch (peek()) {
            case '{' -> object();
            case '[' -> list();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        skip('{');
        if (skip('}')) return members;
        do {
            if (peek() != '"') throw unexpected();
            String name = string();
            if (!skip(':')) throw unexpected();
            members.put(name, value());
        } while (skip(','));
        if (!skip('}')) throw unexpected();
        return members;
    }

    private List<Object> list() {
        List<Object> items = new ArrayList<>();
        skip('[');
        if (skip(']')) return items;
        do items.add(value()); while (skip(','));
        if (!skip(']')) throw unexpected();
        return items;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c == '\\') {
                c = text.charAt(++at);
                int escape = "bfnrt".indexOf(c);
                if (escape >= 0) c = "\b\f\n\r\t".charAt(escape);
                if (c == 'u') {
                    c = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                    at += 4;
                }
            }
            out.append(c);
        }
        at++;
        return out.toString();
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) at++;
        String digits = text.substring(start, at);
        try {
            return Long.valueOf(digits);
        } catch (NumberFormatException e) {
            return Double.valueOf(digits);
        }
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> members) {
            String separator = "{";
            for (Map.Entry<?, ?> member : members.entrySet()) {
                string(String.valueOf(member.getKey()), out.append(separator));
                write(member.getValue(), out.append(':'));
                separator = ",";
            }
            out.append(members.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> items) {
            String separator = "[";
            for (Object item : items) {
                write(item, out.append(separator));
                separator = ",";
            }
            out.append(separator.equals("[") ? "[]" : "]");
        } else if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Number number) {
            if (!Double.isFinite(number.doubleValue())) throw new IllegalArgumentException(value + " is not JSON");
            out.append(value);
        } else {
            string(value.toString(), out);
        }
    }

    private static void string(String value, StringBuilder out) {
        out.append('"');
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < ' ' || Character.isSurrogate(c)) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }
}
