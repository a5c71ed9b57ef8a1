// The listing of “Coming from YapDatabaseExtensions” in which both meanings of `Persistable` are at hand.

import Quire
import YapCompat
import YapExtensions

struct Employee: YapExtensions.Persistable, Codable {
  static let collection = "employees"
  var identifier: Int
  var name: String
}
