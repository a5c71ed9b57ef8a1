// The database of a tree of views.

#if canImport(SwiftUI)
  public import QuireDatabase
  public import SwiftUI

  extension EnvironmentValues {
    private struct DatabaseKey: EnvironmentKey {
      static var defaultValue: Database? { nil }
    }

    /// The database that `LiveResults` reads: set it at the root of the app, by `.environment(\.database, db)`.
    public var database: Database? {
      get { self[DatabaseKey.self] }
      set { self[DatabaseKey.self] = newValue }
    }
  }
#endif
