// Endings of words and what is done to them.

/// Endings with a rule for each, of which the longest that a word has is found.
///
/// The endings stand in a tree that is walked from the last letter of a word towards its first. Looking up takes time
/// for the letters of the longest ending at the most, whatever the number of endings.
struct SuffixTable<Rule: Sendable>: Sendable {
  /// A letter of endings: the nodes of one list have the same letters behind them.
  private struct Node {
    let letter: UInt32
    /// The first node of those one letter further to the front; 0 if there is none.
    var child: UInt16 = 0
    /// The next node of the same list; 0 if there is none.
    var sibling: UInt16 = 0
    /// Number of the rule of the ending that begins here, counted from 1; 0 if none does.
    var rule: UInt16 = 0
  }

  /// The first one stands for no letter.
  private var nodes = [Node(letter: 0)]
  /// For the last letter of a word, its node; 0 where no ending ends so.
  private var roots = [UInt16](repeating: 0, count: 256)
  private var rules: [Rule] = []

  /// Makes a table of rules and, for each, its endings with spaces between them. No ending has two rules.
  init(_ entries: KeyValuePairs<String, Rule>) {
    for (endings, rule) in entries {
      rules.append(rule)
      for ending in endings.split(separator: " ") { insert(ending) }
    }
    assert(nodes.count < Int(UInt16.max))
  }

  /// Adds an ending of the latest rule.
  private mutating func insert(_ ending: Substring) {
    var node = 0
    for scalar in ending.unicodeScalars.reversed() {
      precondition(scalar.value < 256, "Rules name letters of Latin 1 alone")
      node = node == 0 ? root(scalar.value) : child(of: node, scalar.value)
    }
    precondition(node != 0 && nodes[node].rule == 0, "An ending is there, once")
    nodes[node].rule = UInt16(rules.count)
  }

  /// The node of a last letter, made if it is not there.
  private mutating func root(_ letter: UInt32) -> Int {
    if roots[Int(letter)] == 0 {
      roots[Int(letter)] = UInt16(nodes.count)
      nodes.append(Node(letter: letter))
    }
    return Int(roots[Int(letter)])
  }

  /// The node of the letter before that of another node, made if it is not there.
  private mutating func child(of node: Int, _ letter: UInt32) -> Int {
    var next = Int(nodes[node].child)
    while next != 0 {
      if nodes[next].letter == letter { return next }
      next = Int(nodes[next].sibling)
    }
    nodes.append(Node(letter: letter, sibling: nodes[node].child))
    nodes[node].child = UInt16(nodes.count - 1)
    return nodes.count - 1
  }

  /// The longest ending of the first `end` letters that begins at `limit` or behind it.
  ///
  /// - Returns: where it begins and its rule; nil if there is none.
  func longest(of letters: [Letter], end: Int, limit: Int) -> (start: Int, rule: Rule)? {
    assert(limit >= 0 && end <= letters.count)
    guard end > limit, letters[end - 1].code < 256 else { return nil }
    var index = end - 1
    var node = Int(roots[Int(letters[index].code)])
    var (start, rule) = (0, 0)
    while node != 0 {
      if nodes[node].rule != 0 { (start, rule) = (index, Int(nodes[node].rule)) }
      guard index > limit else { break }
      index -= 1
      let letter = letters[index].code
      node = Int(nodes[node].child)
      while node != 0, nodes[node].letter != letter { node = Int(nodes[node].sibling) }
    }
    return rule == 0 ? nil : (start, rules[rule - 1])
  }
}
