"""What several estimators compute: distances by tiles, linear algebra, L-BFGS."""
