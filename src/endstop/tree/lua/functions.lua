-- What a script can use besides BT: functions that cannot look outside, and cannot run long inside C, where no
-- hook would stop them. What could is not offered (patterns, sort, move, coroutines) or bounded first.
local most_chars = limits.chars

local MOST_ITEMS = 20000
local MOST_UNPACKED = 200

local error, floor, math_type, next, select, tostring, type = error, math.floor, math.type, next, select, tostring, type
local concat, insert, remove, rep, unpack = table.concat, table.insert, table.remove, string.rep, table.unpack

-- The length that a table says it has can be made up, and C would walk through all of it.
local function checked_length(list, name)
    if type(list) ~= "table" then
        error(name .. " takes a table, not a " .. type(list), 3)
    end
    local length = #list
    if length > MOST_ITEMS then
        error(name .. " takes a table of at most " .. MOST_ITEMS .. " items", 3)
    end
    return length
end

local function bounded_rep(words, times, between)
    if type(words) ~= "string" or type(times) ~= "number" or (between ~= nil and type(between) ~= "string") then
        error("rep takes a text and a number", 2)
    elseif not (times <= most_chars and (#words + #(between or "")) * times <= most_chars) then
        error("rep makes a text of at most " .. most_chars .. " characters", 2)
    end
    return rep(words, floor(times), between)
end

local function bounded_concat(list, between, first, last)
    local length = checked_length(list, "concat")
    first, last, between = first or 1, last or length, between or ""
    if math_type(first) ~= "integer" or math_type(last) ~= "integer" or type(between) ~= "string" then
        error("concat takes a table, a text, and whole numbers", 2)
    end
    local size = 0
    for index = first, last do
        local item = list[index]
        if type(item) ~= "string" and type(item) ~= "number" then
            error("concat takes a table of texts, and one item is a " .. type(item), 2)
        end
        size = size + #tostring(item) + #between
        if size > most_chars then
            error("concat makes a text of at most " .. most_chars .. " characters", 2)
        end
    end
    return concat(list, between, first, last)
end

local function bounded_insert(list, ...)
    local length, count = checked_length(list, "insert"), select("#", ...)
    if count < 1 or count > 2 or (count == 2 and math_type((...)) ~= "integer") then
        error("insert takes a table, a place if you like, and a value", 2)
    elseif count == 2 and ((...) < 1 or (...) > length + 1) then
        error("insert takes a place within the table", 2)
    end
    insert(list, ...)
end

local function bounded_remove(list, place)
    local length = checked_length(list, "remove")
    if place ~= nil and (math_type(place) ~= "integer" or place < 1 or place > length + 1) then
        error("remove takes a place within the table", 2)
    end
    return remove(list, place)
end

local function bounded_unpack(list, first, last)
    local length = checked_length(list, "unpack")
    first, last = first or 1, last or length
    if math_type(first) ~= "integer" or math_type(last) ~= "integer" then
        error("unpack takes a table and whole numbers", 2)
    elseif first < 1 or last > MOST_ITEMS or last - first >= MOST_UNPACKED then
        error("unpack gives at most " .. MOST_UNPACKED .. " values", 2)
    end
    return unpack(list, first, last)
end

-- Numbers first, then texts.
local function comes_before(one, other)
    if type(one) ~= type(other) then
        return type(one) == "number"
    end
    return one < other
end

-- Sorted by merging, here and not in C: each comparison is a step that the hook can see.
local function sorted(keys)
    local count, width = #keys, 1
    while width < count do
        local merged = {}
        for start = 1, count, 2 * width do
            local left, right = start, start + width
            local left_end, right_end = right - 1, right + width - 1
            if left_end > count then
                left_end = count
            end
            if right_end > count then
                right_end = count
            end
            while left <= left_end or right <= right_end do
                if right > right_end or (left <= left_end and not comes_before(keys[right], keys[left])) then
                    merged[#merged + 1] = keys[left]
                    left = left + 1
                else
                    merged[#merged + 1] = keys[right]
                    right = right + 1
                end
            end
        end
        keys, width = merged, 2 * width
    end
    return keys
end

local function sorted_keys(given, name)
    if type(given) ~= "table" then
        error(name .. " takes a table, not a " .. type(given), 3)
    end
    local keys = {}
    for key in next, given do
        if type(key) ~= "number" and type(key) ~= "string" then
            error(name .. " takes a table whose keys are numbers and texts", 3)
        end
        keys[#keys + 1] = key
    end
    return sorted(keys)
end

-- In the order of the keys, so that the same file always gives the same tree.
local function ordered_pairs(given)
    local keys = sorted_keys(given, "pairs")
    local index = 0
    return function()
        index = index + 1
        local key = keys[index]
        if key ~= nil then
            return key, given[key]
        end
    end
end

local function first_entry(given, key)
    if key ~= nil then
        error("next only gives the first entry of a table here: use pairs, which goes in order", 2)
    end
    local first = sorted_keys(given, "next")[1]
    if first ~= nil then
        return first, given[first]
    end
end

local function checked(holds, ...)
    if not holds then
        error(select("#", ...) > 0 and (...) or "assertion failed", 2)
    end
    return holds, ...
end

-- Without the address that Lua would tell, which is another one each time.
local function as_text(value)
    local kind = type(value)
    return (kind == "table" or kind == "function") and kind or tostring(value)
end

local function only(from, names)
    local chosen = {}
    for _, name in ipairs(names) do
        chosen[name] = from[name]
    end
    return chosen
end

local function text_functions()
    local chosen = only(string, { "upper", "lower", "len", "sub", "byte", "char", "reverse" })
    chosen.rep = bounded_rep
    return chosen
end

-- "text":upper() looks here. Not the same table as ``string`` below: nobody outside can change this one.
debug.setmetatable("", { __index = text_functions() })

return {
    assert = checked,
    error = error,
    ipairs = ipairs,
    math = only(math, {
        "abs", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger", "min", "mininteger",
        "modf", "pi", "rad", "sin", "sqrt", "tan", "tointeger", "type", "ult",
    }),
    next = first_entry,
    pairs = ordered_pairs,
    select = select,
    string = text_functions(),
    table = {
        concat = bounded_concat,
        insert = bounded_insert,
        pack = table.pack,
        remove = bounded_remove,
        unpack = bounded_unpack,
    },
    tonumber = tonumber,
    tostring = as_text,
    type = type,
}
