// What the tests of views share.

import Foundation
import QuireDatabase
import QuireTesting
import QuireViews
import Testing

struct Item: Codable, Sendable, Equatable {
  var group: String?
  var rank: Int
}

extension RowCollection where Object == Item, Metadata == Int {
  static func items(_ name: String = "items") -> Self { .init(name) }
}

/// What a view shows: its groups with their keys in order.
typealias Shown = [String: [RowKey]]

extension ViewReader {
  func shown() throws -> Shown {
    var shown: Shown = [:]
    for group in groups {
      let keys = rows(in: group).map { RowKey($0.row.collection, $0.row.key) }
      #expect(keys.count == count(in: group))
      shown[group] = keys
    }
    return shown
  }
}

/// Carries out the steps of a view's change on lists.
func apply(_ operations: [ViewOperation], to shown: inout Shown) throws {
  struct Wrong: Error, CustomStringConvertible { let description: String }
  for operation in operations {
    switch operation {
    case .insertGroup(let group):
      guard shown[group] == nil else { throw Wrong(description: "\(group) is there already") }
      shown[group] = []
    case .removeGroup(let group):
      guard shown[group]?.isEmpty == true else { throw Wrong(description: "\(group) is not empty") }
      shown[group] = nil
    case .resetGroup(let group, let count):
      guard shown[group]?.count == count else { throw Wrong(description: "\(group) has no \(count) rows") }
      shown[group] = []
    case .insert(let key, let group, let index):
      guard let keys = shown[group], index <= keys.count else { throw Wrong(description: "\(operation)") }
      shown[group]?.insert(key, at: index)
    case .remove(let key, let group, let index):
      guard let keys = shown[group], index < keys.count, keys[index] == key else {
        throw Wrong(description: "\(operation)")
      }
      shown[group]?.remove(at: index)
    case .update(let key, let group, let index, let aspects):
      guard let keys = shown[group], index < keys.count, keys[index] == key, !aspects.isEmpty else {
        throw Wrong(description: "\(operation)")
      }
    }
  }
}
