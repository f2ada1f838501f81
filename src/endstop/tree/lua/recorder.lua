-- BT: writes down each node that a script makes, with the line of its call. Each is kept as JSON text and given to
-- the script as an empty table, so that what a script holds for itself can be told from what is kept for it, and
-- a node that is used twice costs nothing. Whether a node is as it should be is judged later, in Python.
local seen, called, stop = ...

local KB_PER_NODE = 0.3
local MOST_KEY_BYTES = 200
local MOST_SHOWN_BYTES = 500

local concat, format, gsub, sub, utf8_len = table.concat, string.format, string.gsub, string.sub, utf8.len
local huge, math_type, next, select, setmetatable = math.huge, math.type, next, select, setmetatable
local tostring, type = tostring, type

local made = {} -- what is known of each node and tree, by the table that stands for it
local nodes, trees, problems = {}, {}, {}
local values = 0

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\" }
for code = 0, 31 do
    escapes[string.char(code)] = format("\\u%04x", code)
end

local function quoted(words)
    return '"' .. gsub(words, '[%c"\\]', escapes) .. '"'
end

-- A number as JSON, with a point whatever the locale says. A whole one is written as one: 6 / 2 is 3.
local function number(value)
    return math_type(value) == "integer" and format("%d", value) or (gsub(format("%.17g", value), ",", "."))
end

local function number_or_null(value)
    return value and number(value) or "null"
end

-- Text that can be shown, whatever it is.
local function shown(words)
    words = sub(words, 1, MOST_SHOWN_BYTES)
    return utf8_len(words) and words or (gsub(words, "[\128-\255]", "?"))
end

local function keep(list, json)
    seen.kept_kb = seen.kept_kb + #json / 1024
    list[#list + 1] = json
end

local function note(line, what, about, detail)
    local parts = { number_or_null(line), quoted(what), quoted(shown(about)), quoted(shown(detail)) }
    keep(problems, "[" .. concat(parts, ",") .. "]")
end

local function problem(line, what, about, detail)
    if #problems >= limits.problems then
        stop("too_many_problems")
    end
    note(line, what, about or "", detail or "")
    return "null"
end

-- A value of the script as JSON: text, finite numbers, true and false, lists, and tables with names.
local plain

local function plain_text(value, line, about, name)
    local length = utf8_len(value)
    if not length then
        return problem(line, "not_utf8", about, name)
    elseif length > limits.chars then
        return problem(line, "long_text", about, name)
    end
    return quoted(value)
end

local function plain_table(value, line, about, name, level)
    local count, named = 0, 0
    for key in next, value do
        count = count + 1
        if type(key) == "string" and #key <= MOST_KEY_BYTES and utf8_len(key) then
            named = named + 1
        elseif math_type(key) ~= "integer" then
            return problem(line, "odd_key", about, name)
        end
    end
    local parts = {}
    if named == count then
        for key, item in next, value do
            parts[#parts + 1] = quoted(key) .. ":" .. plain(item, line, about, name, level + 1)
        end
        return "{" .. concat(parts, ",") .. "}"
    end
    for index = 1, count do
        if value[index] == nil then
            return problem(line, named > 0 and "list_and_names" or "list_with_gaps", about, name)
        end
        parts[index] = plain(value[index], line, about, name, level + 1)
    end
    return "[" .. concat(parts, ",") .. "]"
end

function plain(value, line, about, name, level)
    values = values + 1
    if values > limits.values then
        stop("too_many_values")
    end
    local kind = type(value)
    if kind == "string" then
        return plain_text(value, line, about, name)
    elseif kind == "boolean" then
        return tostring(value)
    elseif kind == "number" then
        local is_finite = value == value and value ~= huge and value ~= -huge
        return is_finite and number(value) or problem(line, "not_finite", about, name)
    elseif kind == "function" then
        return problem(line, "function_as_value", about, name)
    elseif made[value] then
        return problem(line, "node_as_value", about, name)
    elseif level >= limits.levels then
        return problem(line, "deep_value", about, name)
    end
    return plain_table(value, line, about, name, level)
end

-- A child is given by its number. What is no node is given by what it is instead.
local function add_child(children, node, child)
    local known = made[child]
    if not known or known.is_tree then
        local instead = type(child) == "string" and "text " .. shown(child) or type(child)
        children[#children + 1] = quoted(known and "tree" or instead)
        return
    end
    if next(child) ~= nil then
        problem(node.line, "changed_node", known.kind)
    end
    node.size = node.size + known.size
    node.depth = known.depth >= node.depth and known.depth + 1 or node.depth
    if node.size > limits.nodes then
        stop("too_many_nodes")
    elseif node.depth > limits.depth then
        stop("deep_tree")
    end
    children[#children + 1] = number(known.id)
end

-- Up to the last one there is: a nil between others is a node that was misspelt.
local function add_children(children, node, list)
    local last = 0
    for key in next, list do
        if math_type(key) == "integer" and key > last then
            last = key
        end
    end
    if last > limits.nodes then
        stop("too_many_nodes")
    end
    for index = 1, last do
        add_child(children, node, list[index])
    end
end

local function add_named(children, parameters, node, key, value)
    if key == "children" and type(value) == "table" and not made[value] then
        add_children(children, node, value)
    elseif key == "child" or key == "children" then
        add_child(children, node, value)
    elseif type(key) == "string" then
        key = shown(key)
        parameters[#parameters + 1] = quoted(key) .. ":" .. plain(value, node.line, node.kind, key, 0)
    elseif math_type(key) ~= "integer" or key < 1 then
        problem(node.line, "odd_key", node.kind)
    end
end

-- BT.kind("words", { … }), either of them left out; a node may stand for a table with only that in it.
local function arguments(kind, line, count, first, second)
    local words, given, expected = nil, first, 1
    if type(first) == "string" then
        words, given, expected = first, second, 2
    end
    if count > expected or (count == expected and type(given) ~= "table") then
        problem(line, "odd_call", kind, type(first) .. (count > 1 and ", " .. type(second) or ""))
    end
    if type(given) ~= "table" then
        given = {}
    elseif made[given] then
        given = { given }
    end
    return words, given
end

local function new_node(kind, line, ...)
    local words, given = arguments(kind, line, select("#", ...), ...)
    local node = { id = #nodes, kind = kind, size = 1, depth = 1, line = line }
    if node.id >= limits.nodes then
        stop("too_many_nodes")
    end
    local children, parameters = {}, {}
    add_children(children, node, given)
    for key, value in next, given do
        add_named(children, parameters, node, key, value)
    end
    local name = words and plain_text(words, line, kind, "name") or "null"
    keep(nodes, concat({
        "[", quoted(kind), ",", number_or_null(line), ",", name,
        ",{", concat(parameters, ","), "},[", concat(children, ","), "]]",
    }))
    seen.kept_kb = seen.kept_kb + KB_PER_NODE
    local handle = {}
    made[handle] = node
    return handle
end

local function new_tree(line, count, name, given)
    if #trees >= limits.trees then
        stop("too_many_trees")
    end
    if count ~= 2 or type(name) ~= "string" or type(given) ~= "table" or made[given] then
        problem(line, "odd_tree")
        given = {}
    end
    local root, parts = "null", {}
    for key, value in next, given do
        local known = made[value]
        if key == "root" then
            root = known and not known.is_tree and number(known.id) or quoted(known and "tree" or type(value))
        elseif type(key) == "string" then
            key = shown(key)
            parts[#parts + 1] = quoted(key) .. ":" .. plain(value, line, "tree", key, 0)
        else
            problem(line, "odd_key", "tree")
        end
    end
    local title = type(name) == "string" and plain_text(name, line, "tree", "name") or "null"
    keep(trees, concat({ "[", number_or_null(line), ",", title, ",", root, ",{", concat(parts, ","), "}]" }))
    local handle = {}
    made[handle] = { is_tree = true }
    return handle
end

local BT = setmetatable({
    tree = called(function(line, ...)
        return new_tree(line, select("#", ...), ...)
    end),
}, {
    -- Whatever the name: one that there is not is told together with all the rest, when the script has run.
    __index = function(functions, kind)
        if type(kind) ~= "string" then
            return nil
        end
        local shown_kind = shown(kind)
        functions[kind] = called(function(line, ...)
            return new_node(shown_kind, line, ...)
        end)
        return functions[kind]
    end,
})

local function result()
    return concat({
        '{"nodes":[', concat(nodes, ","),
        '],"trees":[', concat(trees, ","),
        '],"problems":[', concat(problems, ","), "]}",
    })
end

return BT, problem, note, result
